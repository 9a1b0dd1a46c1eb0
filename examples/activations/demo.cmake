tq_add_demo(activations COMMAND activations)
