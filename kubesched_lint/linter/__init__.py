"""Run the rules on a manifest set and a cluster: findings with severity, text, place and suppression."""
