"""Sentences that give a series or a spectrum; {} is the place of the numbers."""

from __future__ import annotations

from perpend.studies.logic.chaos.questions.data.sheet import told

_READS = ("reads {}", "runs {}", "is given as {}", "was noted as {}", "looks as follows: {}", "has these entries: {}")
_CAME = (
    "came out as follows: {}",
    "was noted at several times: {}",
    "reads as follows: {}",
    "is listed: {}",
    "developed like this: {}",
)
SERIES = (
    "A short series was recorded: {}.",
    "The series to be analysed is {}.",
    "A sensor was read at equal intervals of time, with the result {}.",
    "These values of a signal follow each other in time: {}.",
    "The time series of a model run begins {}.",
    "A signal, sampled once a second, gave {}.",
    "The samples, in the order of time, are {}.",
    "An excerpt from a longer record reads {}.",
    "For a test of the recipe, take the series {}.",
    "The data file holds one column: {}.",
    "The measured heights were, one after the other, {}.",
    *told(
        (
            "An excerpt from a record",
            "A stretch of a measured signal",
            "One column of a data file",
            "The output of a sensor",
            "A test series for the recipe",
            "Part of a longer time series",
            "A list of readings at equal intervals",
            "The signal of a detector",
            "A piece of a simulated signal",
            "The record of one afternoon",
        ),
        _READS,
    ),
)
SIGNED = (
    "A signal around zero was sampled: {}.",
    "The deviations from the mean, in the order of time, are {}.",
    "A pendulum's angle was read at equal intervals: {}.",
    "The series of velocities is {}.",
    "The filtered record, sample by sample, reads {}.",
    *told(
        (
            "A signal about its mean",
            "The record of a swing around its rest position",
            "A centred series",
            "A detrended time series",
            "The voltage of an oscillating circuit",
        ),
        _READS,
    ),
)
TWINS = (
    "Two copies of a system were started close together, and their distance was noted: {}.",
    "The distance between twin runs: {}.",
    "A twin experiment recorded the gap between the two copies: {}.",
    "The separation of two nearby orbits came out as follows: {}.",
    "From a log of two nearly equal starts, the distance: {}.",
    *told(
        (
            "The distance of two copies with nearly equal starts",
            "The gap between a run and its slightly disturbed copy",
            "The separation of a pair of runs",
            "The distance in a twin experiment",
            "The difference between a forecast and its perturbed twin",
        ),
        _CAME,
    ),
)
MEGNO = (
    "The MEGNO indicator of an orbit was printed during the run: {}.",
    "A run reports its MEGNO value as it goes along: {}.",
    "The MEGNO of an orbit changed like this: {}.",
    "Values of the MEGNO indicator: {}.",
    *told(
        (
            "The MEGNO value of one orbit",
            "MEGNO, as the program prints it,",
            "The indicator MEGNO of a long run",
            "The MEGNO of a test particle",
            "MEGNO along one orbit",
        ),
        _CAME,
    ),
)
LOGS = (
    "The logarithms of the size of the slope along two orbits of a map are {} for orbit A and {} for orbit B.",
    "At successive points of orbit A the logarithm of the absolute slope of the map is {}; for orbit B it is {}.",
    "The local stretching rates, step by step, are {} along orbit A and {} along orbit B.",
    "Stretching rates of two orbits. Orbit A: {}. Orbit B: {}.",
    "Two orbits of a map have the local stretching rates {} (orbit A) and {} (orbit B).",
    "Along orbit A the logarithm of the size of the slope takes the values {}; along orbit B it takes the values {}.",
    "For orbit A the logarithms of the absolute slope read {}, and for orbit B they read {}.",
    "A program printed the logarithm of the absolute slope at every step: {} for orbit A, {} for orbit B.",
    "Step by step, orbit A is stretched at the rates {}, and orbit B at the rates {}.",
    "Two runs of one map were compared by their stretching rates. Orbit A gave {}; orbit B gave {}.",
    "The notes list the logarithms of the absolute slope for two orbits. For A they are {}. For B they are {}.",
    "Local stretching rates: {} for orbit A and {} for orbit B.",
)
VALUES_OF_K = (
    "The 0–1 test was run with several frequencies. For run A it gave K = {}; for run B it gave K = {}.",
    "Values of K from the 0–1 test are {} for run A and {} for run B.",
    "Run A of the 0–1 test returned the K values {}, and run B returned {}.",
    "Two runs were put through the 0–1 test. Run A has K = {}; run B has K = {}.",
    "For several frequencies the 0–1 test gives K = {} in run A and K = {} in run B.",
    "The 0–1 test was repeated with different frequencies, with K = {} for run A and K = {} for run B.",
    "A table of the 0–1 test lists the K values {} under run A and {} under run B.",
    "Each run was tested several times by the 0–1 test: run A gave {}, run B gave {}.",
    "From the 0–1 test come the K values {} of run A and the K values {} of run B.",
    "K was computed more than once for either run: it is {} for run A and {} for run B.",
    "The K values of run A are {}, and those of run B are {}.",
)
PEAKS = (
    "The peaks of a signal were seen at the times {}.",
    "Peak times of a record, in seconds: {}.",
    "A counter logged peaks at t = {}.",
    "The maxima of a run occurred at the times {}.",
    "Peaks came at the times {}.",
    "The times of successive peaks are {}.",
    "Someone timed the peaks of an oscillation: {}.",
    "A detector marked the peaks of a signal at {}, in seconds.",
    "The list of peak times reads {}.",
    "In a recorded oscillation the peaks lie at {}.",
    "One after the other, the peaks were seen at {}.",
    "The swings of a pendulum reach their highest points at the times {}.",
    "Heartbeats were registered at the times {}.",
    "From a chart, the times of the peaks are {}.",
)
SPECTRA = (
    "The Lyapunov exponents of a map of several variables were found to be {}.",
    "A run returned this Lyapunov spectrum: {}.",
    "The Lyapunov spectrum of a system is given as {}.",
    "The Lyapunov exponents, in no particular order, are {}.",
    "A table in a paper lists the Lyapunov exponents {}.",
    "After a long run the exponents had settled at {}.",
    "The Lyapunov exponents estimated from data are {}.",
    "From the log of a simulation, the Lyapunov exponents: {}.",
    "A model has the Lyapunov exponents {}.",
    "Somebody computed the whole Lyapunov spectrum and got {}.",
    "The exponents of an orbit, one for each direction, are {}.",
    "A referee asks about a system with the Lyapunov exponents {}.",
    *told(
        (
            "The Lyapunov spectrum of a model",
            "The full set of Lyapunov exponents",
            "The Lyapunov spectrum in the appendix",
            "The computed Lyapunov spectrum",
            "The Lyapunov spectrum at one parameter value",
            "The spectrum of exponents from a long run",
            "An estimate of the Lyapunov spectrum",
            "The Lyapunov spectrum of a coupled system",
        ),
        (
            "reads {}",
            "is {}",
            "came out as {}",
            "was found to be {}",
            "is reported as {}",
            "consists of the values {}",
            "is the following: {}",
        ),
    ),
)
TWO_SPECTRA = (
    "System A has the Lyapunov exponents {}; system B has {}.",
    "Two spectra are compared. Spectrum A: {}. Spectrum B: {}.",
    "The Lyapunov exponents of A are {}, and those of B are {}.",
    "Lyapunov spectra of two runs: for A they are {}; for B they are {}.",
    "In a survey, A is listed with the Lyapunov exponents {} and B with {}.",
    "For system A the Lyapunov spectrum reads {}, for system B it reads {}.",
    "A table gives two Lyapunov spectra. That of A is {}. That of B is {}.",
    "Two models are compared by their Lyapunov exponents: A has {}, and B has {}.",
    "The runs A and B ended with the Lyapunov exponents {} and {}, in this order.",
    "One program was run on two systems; for A it returned the exponents {} and for B the exponents {}.",
    "A has the Lyapunov spectrum {}, whereas B has {}.",
    "The Lyapunov exponents of two systems are known. Those of A are {}. Those of B are {}.",
    "System A was found to have the exponents {}, system B the exponents {}.",
    "Compare two Lyapunov spectra, {} for A and {} for B.",
    "According to a paper, the Lyapunov exponents are {} for A and {} for B.",
    "Two circuits, A and B, have the Lyapunov exponents {} and {} respectively.",
    "The exponents of A, in any order, are {}; those of B are {}.",
    "A notebook holds two spectra of Lyapunov exponents: A is {}, B is {}.",
    "Long runs gave the Lyapunov exponents {} for system A and {} for system B.",
    "With the same method, the Lyapunov exponents of A came out as {} and those of B as {}.",
)
