tq_add_demo(eigen COMMAND eigen)
