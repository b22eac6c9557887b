"""What would fix a finding: changes to one object, never how they are written."""
