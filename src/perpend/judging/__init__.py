"""What an answer says: segment, mentions, cues, verdict, in the order in which an answer is read; then the scorers."""
