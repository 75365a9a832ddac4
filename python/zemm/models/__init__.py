# SPDX-License-Identifier: Apache-2.0
"""zemm-models: times a model of Transformers with zemm's layers beside other runtimes, and says how far its
logits are from those of the float model."""
