"""What adapters share: protocols as pure mapping, complaints as our errors, connections."""
