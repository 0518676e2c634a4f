"""What is to happen, complete before anything starts: subjects, faults, schedules, campaigns."""
