"""A transducer that is trained beside CTC: loss, and gradients of every parameter and of the frames, whose first channels
go to the joint network and whose others are CTC's logits."""
from cases import transducer_layer


def make(save):
    for network in transducer_layer.networks():
        if network[0] != "stateless":
            save(f"transducer_ctc_{network[0]}", transducer_layer.training(*network, ctc_weight=0.25))
