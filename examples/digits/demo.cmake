tq_add_demo(digits COMMAND digits
  TITLE "A network that reads digits, in fewer bits, and with integer products (examples/digits): correct answers on 451
unseen images:"
  SHOW "^network  (weights|scales)|^cnn +(float32|int8|int4_g32|nf4|mxfp4) +float32|^cnn +int8 +int8|^cnn +static")
