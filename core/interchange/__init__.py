"""What the formats share: files and archives as sources, streams of JSON, times, trees."""
