tq_add_demo(quickstart quickstart)
