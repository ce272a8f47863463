"""What was executed in deep recordings, in numbers that both sides of a comparison share."""
