"""What weakens an error. Read ``what_if``, which asks again in other scenarios, then ``proofs``, which refutes."""
