"""What is shown: tables, figures, verdicts, pages."""
