tq_add_demo(digits digits)
