"""One search engine for tools, past analyses, names of the graph and, later, documents.

    index = SearchIndex({"title": Field(2.0, 0.4), "text": Field(1.0, 0.6)})
    index.add([Document(id="a", words={"title": ["read", "map"]}, names={"tool": ["bwa"]}, owner="ann", kind="tool")])
    index.put_vectors(["a"], matrix)
    hits = index.search(Query(words={"map": 1.0}, names={"tool": {"bwa": 1.0}}, vector=v, kinds=["tool"]), top=15)

Who uses it says what a word is (stems, from `engine.text` or of its own), what counts as a name (an accession, a tool,
an entity: equal or not), and how the parts of a score add up. Everything is compared exactly: at 100,000 documents
of forty words and 384 numbers that takes about ten milliseconds (docs/adr/0026).

- `index.py`       documents, queries, the parts of a score, their sum
- `postings.py`    which rows have a word
- `vectors.py`     unit vectors by row
- `spelling.py`    words that are nearly as written
- `confidence.py`  from measures to the probability that an answer fits at all
"""
