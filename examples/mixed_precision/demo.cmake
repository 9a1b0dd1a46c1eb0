tq_add_demo(mixed_precision mixed_precision --quick)
