tq_add_demo(eigen eigen)
