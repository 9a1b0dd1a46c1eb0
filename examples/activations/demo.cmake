tq_add_demo(activations activations)
