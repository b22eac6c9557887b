"""What ``kubesched-lint workloads`` does: test cards, begin new ones, explain what a resource stands for."""
