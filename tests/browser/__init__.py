"""What a person does in a real Chromium, against the real app in a process of its own."""
