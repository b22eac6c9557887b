"""What a file is, and whether somebody applies it: sources of Helm, kustomizations, tests, encrypted objects."""
