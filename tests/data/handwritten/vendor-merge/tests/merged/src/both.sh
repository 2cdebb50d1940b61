echo same
