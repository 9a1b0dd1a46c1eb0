tq_add_demo(stories stories)
