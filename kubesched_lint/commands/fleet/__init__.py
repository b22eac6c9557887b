"""Many sets on many clusters: a plan of pairs, those who judge them, one report. Read plan, tasks, judge, run."""
