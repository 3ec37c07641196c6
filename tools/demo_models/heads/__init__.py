"""Draft models and draft heads for a target model: data from the target itself, training, export."""
