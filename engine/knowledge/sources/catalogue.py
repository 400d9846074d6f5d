"""Public knowledge that can be downloaded: where it is, under which terms, how large.

A SHA-256 is given only where a release is fixed and its publisher states the checksum; everything else changes from
release to release, so the checksum of what came is noted beside the file instead. Sizes are of late 2026 and
approximate; 0 where none is known.
"""

from __future__ import annotations

from engine.domain.base import Value


class RemoteFile(Value):
    """A file to download."""

    name: str
    """What it is called here."""
    url: str
    bytes: int = 0
    """Size; exact where `sha256` is given, else approximate, 0 when unknown."""
    sha256: str | None = None


class RemoteSource(Value):
    """A resource: its files, terms and the format they are imported as."""

    name: str
    title: str
    description: str
    format: str
    files: list[RemoteFile]
    license: str
    homepage: str

    @property
    def bytes(self) -> int:
        """Size of all files, 0 when one of them is unknown."""
        sizes = [file.bytes for file in self.files]
        return sum(sizes) if all(sizes) else 0


def _by_name(*sources: RemoteSource) -> dict[str, RemoteSource]:
    return {source.name: source for source in sources}


SOURCES: dict[str, RemoteSource] = _by_name(
    RemoteSource(
        name="hetionet",
        title="Hetionet v1.0",
        description="47,031 nodes of 11 kinds and 2,250,197 relations of 24 kinds.",
        format="hetionet",
        files=[
            RemoteFile(
                name="hetionet-v1.0-nodes.tsv",
                url="https://raw.githubusercontent.com/hetio/hetionet/main/hetnet/tsv/hetionet-v1.0-nodes.tsv",
                bytes=2_500_000,
            ),
            RemoteFile(  # in Git LFS, whose pointer states size and checksum
                name="hetionet-v1.0-edges.sif.gz",
                url="https://media.githubusercontent.com/media/hetio/hetionet/main/hetnet/tsv/hetionet-v1.0-edges.sif.gz",
                bytes=12_401_407,
                sha256="611f0411ac666be4e0270e54bbca67407e14720bfc3099311f0f5eec25c5a947",
            ),
        ],
        license="CC0 1.0; parts under the terms of their sources",
        homepage="https://het.io",
    ),
    RemoteSource(
        name="primekg",
        title="PrimeKG",
        description="129,375 nodes and 4,050,249 relations around 17,080 diseases.",
        format="primekg",
        files=[
            RemoteFile(
                name="kg.csv", url="https://dataverse.harvard.edu/api/access/datafile/6180620", bytes=980_000_000
            )
        ],
        license="as its Dataverse page states; parts under the terms of their sources",
        homepage="https://doi.org/10.7910/DVN/IXA7BM",
    ),
    RemoteSource(
        name="go",
        title="Gene Ontology (basic)",
        description="Processes, functions and components with is_a, part_of and regulates.",
        format="obo",
        files=[
            RemoteFile(name="go-basic.obo", url="https://purl.obolibrary.org/obo/go/go-basic.obo", bytes=31_000_000)
        ],
        license="CC BY 4.0",
        homepage="https://geneontology.org",
    ),
    RemoteSource(
        name="goa-human",
        title="GO annotations of human genes",
        description="Which human gene has which GO term, with evidence codes.",
        format="gaf",
        files=[
            RemoteFile(name="goa_human.gaf.gz", url="https://current.geneontology.org/annotations/goa_human.gaf.gz")
        ],
        license="CC BY 4.0",
        homepage="https://www.ebi.ac.uk/GOA",
    ),
    RemoteSource(
        name="hpo",
        title="Human Phenotype Ontology",
        description="Phenotypes of human disease and their hierarchy.",
        format="obo",
        files=[RemoteFile(name="hp.obo", url="https://purl.obolibrary.org/obo/hp.obo")],
        license="HPO licence (free with attribution, unaltered)",
        homepage="https://hpo.jax.org",
    ),
    RemoteSource(
        name="do",
        title="Disease Ontology",
        description="Human diseases, their synonyms, identifiers elsewhere and hierarchy.",
        format="obo",
        files=[RemoteFile(name="doid.obo", url="https://purl.obolibrary.org/obo/doid.obo", bytes=7_300_000)],
        license="CC0 1.0",
        homepage="https://disease-ontology.org",
    ),
    RemoteSource(
        name="mondo",
        title="Mondo Disease Ontology",
        description="Diseases of several resources brought together.",
        format="obo",
        files=[RemoteFile(name="mondo.obo", url="https://purl.obolibrary.org/obo/mondo.obo")],
        license="CC BY 4.0",
        homepage="https://mondo.monarchinitiative.org",
    ),
    RemoteSource(
        name="cl",
        title="Cell Ontology (basic)",
        description="Cell types and their hierarchy.",
        format="obo",
        files=[RemoteFile(name="cl-basic.obo", url="https://purl.obolibrary.org/obo/cl/cl-basic.obo", bytes=2_400_000)],
        license="CC BY 4.0",
        homepage="https://obophenotype.github.io/cell-ontology",
    ),
    RemoteSource(
        name="uberon",
        title="Uberon (basic)",
        description="Anatomy across species.",
        format="obo",
        files=[RemoteFile(name="uberon-basic.obo", url="https://purl.obolibrary.org/obo/uberon/basic.obo")],
        license="CC BY 3.0",
        homepage="https://obophenotype.github.io/uberon",
    ),
    RemoteSource(
        name="hgnc",
        title="HGNC complete set",
        description="Approved human gene symbols with aliases, former symbols and identifiers elsewhere.",
        format="gene_table",
        files=[
            RemoteFile(
                name="hgnc_complete_set.txt",
                url="https://storage.googleapis.com/public-download-files/hgnc/tsv/tsv/hgnc_complete_set.txt",
                bytes=17_000_000,
            )
        ],
        license="free to use, no restrictions (HGNC)",
        homepage="https://www.genenames.org",
    ),
    RemoteSource(
        name="cellphonedb",
        title="CellPhoneDB interactions",
        description="Ligands and receptors, complexes included.",
        format="ligand_receptor",
        files=[
            RemoteFile(
                name="cellphonedb_interaction_input.csv",
                url="https://raw.githubusercontent.com/ventolab/cellphonedb-data/master/data/interaction_input.csv",
                bytes=600_000,
            )
        ],
        license="as the CellPhoneDB data repository states",
        homepage="https://github.com/ventolab/cellphonedb-data",
    ),
)
