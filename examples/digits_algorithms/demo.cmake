tq_add_demo(digits_algorithms COMMAND digits_algorithms
  TITLE "Digits with weights of 2 and 3 bits, by rounding and by better algorithms (examples/digits_algorithms):"
  SHOW "^network|^(mlp|cnn) +int[23]")
