"""Identification: unknown numbers of a plant from recordings of it, with their uncertainties."""
