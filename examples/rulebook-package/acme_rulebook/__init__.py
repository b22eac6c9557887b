"""Rules of Acme's platform team: cards in rules/, checks in checks/."""
