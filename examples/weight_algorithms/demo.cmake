tq_add_demo(weight_algorithms COMMAND weight_algorithms --quick
  TITLE "Rounding to nearest and better algorithms (examples/weight_algorithms):"
  SHOW "^[|] (scheme|int3|mxfp4)")
