"""Why a value is what it is: one query rank by rank, or a retriever and a reranker apart."""
