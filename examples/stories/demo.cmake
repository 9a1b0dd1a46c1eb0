tq_add_demo(stories COMMAND stories
  TITLE "A language model of 260,000 weights whose layers multiply integers (examples/stories):"
  SHOW "^[|] weights +[|] +activations|^[|] (float32|int[48] per_[a-z 0-9]+) +[|] +(float32|int8 dynamic)")
