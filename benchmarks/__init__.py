"""Long studies that maintainers run: fuzzing, surveys of imports, engine comparisons, navigation errors. Not in the wheel."""
