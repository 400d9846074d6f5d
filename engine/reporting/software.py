"""Who wrote the software that produced a number: the papers its authors ask to be cited.

Only packages with a published paper stand here; the others are named with their version and no reference.
"""

from __future__ import annotations

from engine.domain.toolspec import Citation

PAPERS: dict[str, Citation] = {
    "anndata": Citation(
        title="anndata: Access and store annotated data matrices",
        authors="Virshup I, Rybakov S, Theis FJ, Angerer P, Wolf FA",
        year=2024,
        doi="10.21105/joss.04371",
    ),
    "gseapy": Citation(
        title="GSEApy: a comprehensive package for performing gene set enrichment analysis in Python",
        authors="Fang Z, Liu X, Peltz G",
        year=2023,
        doi="10.1093/bioinformatics/btac757",
    ),
    "igraph": Citation(  # what it is used for here is the Leiden algorithm
        title="From Louvain to Leiden: guaranteeing well-connected communities",
        authors="Traag VA, Waltman L, van Eck NJ",
        year=2019,
        doi="10.1038/s41598-019-41695-z",
    ),
    "lifelines": Citation(
        title="lifelines: survival analysis in Python",
        authors="Davidson-Pilon C",
        year=2019,
        doi="10.21105/joss.01317",
    ),
    "matplotlib": Citation(
        title="Matplotlib: A 2D graphics environment", authors="Hunter JD", year=2007, doi="10.1109/MCSE.2007.55"
    ),
    "numpy": Citation(
        title="Array programming with NumPy",
        authors="Harris CR, Millman KJ, van der Walt SJ, et al.",
        year=2020,
        doi="10.1038/s41586-020-2649-2",
    ),
    "pandas": Citation(
        title="Data Structures for Statistical Computing in Python",
        authors="McKinney W",
        year=2010,
        doi="10.25080/Majora-92bf1922-00a",
    ),
    "pydeseq2": Citation(
        title="PyDESeq2: a python package for bulk RNA-seq differential expression analysis",
        authors="Muzellec B, Teleńczuk M, Cabeli V, Andreux M",
        year=2023,
        doi="10.1093/bioinformatics/btad547",
    ),
    "scanpy": Citation(
        title="SCANPY: large-scale single-cell gene expression data analysis",
        authors="Wolf FA, Angerer P, Theis FJ",
        year=2018,
        doi="10.1186/s13059-017-1382-0",
    ),
    "scikit-learn": Citation(
        title="Scikit-learn: Machine Learning in Python",
        authors="Pedregosa F, Varoquaux G, Gramfort A, et al.",
        year=2011,
        url="https://jmlr.org/papers/v12/pedregosa11a.html",
    ),
    "scipy": Citation(
        title="SciPy 1.0: fundamental algorithms for scientific computing in Python",
        authors="Virtanen P, Gommers R, Oliphant TE, et al.",
        year=2020,
        doi="10.1038/s41592-019-0686-2",
    ),
    "statsmodels": Citation(
        title="Statsmodels: Econometric and Statistical Modeling with Python",
        authors="Seabold S, Perktold J",
        year=2010,
        doi="10.25080/Majora-92bf1922-011",
    ),
    "umap-learn": Citation(
        title="UMAP: Uniform Manifold Approximation and Projection",
        authors="McInnes L, Healy J, Saul N, Großberger L",
        year=2018,
        doi="10.21105/joss.00861",
    ),
}
"""Distribution name -> the paper its authors ask to be cited."""
