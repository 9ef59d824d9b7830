/* Orbits of one system: DOP853 of Hairer, Norsett and Wanner with step control, and iteration of maps.
 *
 * The text of the system comes before this file: N variables, MAP, TURNS (the circumference of each variable that is an
 * angle, else 0), settle(), rate(), linear(), spread() and dense().
 *
 * M tangent vectors are carried behind the state, and behind them the integral of the Jacobian's trace; M < 0 is the
 * state alone. No result depends on anything but the arguments.
 */
#define ALWAYS static inline __attribute__((always_inline))
#define DIM(M) ((M) < 0 ? N : N + (M) * N + 1)
#define EACH(statement) for (int i = 0; i < DIM(M); i++) { statement; }
enum { OK = 0, ESCAPED = 1, UNFINISHED = 2, FAILED = 3 };
static const double turns[N] = TURNS;

typedef struct {
    double h, longest, bound, tolerance;
    long steps, cap;
    double size[N], low[N], high[N];
} Walk;

static void look(Walk *w, const double *x) {
    for (int i = 0; i < N; i++) {
        double a = fabs(x[i]);
        if (a > w->size[i]) w->size[i] = a;
        if (x[i] < w->low[i]) w->low[i] = x[i];
        if (x[i] > w->high[i]) w->high[i] = x[i];
    }
}

/* Escape is told by variables that are not angles: an angle may turn for ever. */
static int is_out(const Walk *w, const double *x) {
    for (int i = 0; i < N; i++)
        if (turns[i] == 0.0 && !(fabs(x[i]) <= w->bound)) return 1;
    return 0;
}

static void begin(Walk *w, const double *x, double tolerance, double longest, long cap) {
    double size = 1.0;
    for (int i = 0; i < N; i++) {
        if (fabs(x[i]) > size) size = fabs(x[i]);
        w->size[i] = 0.0;
        w->low[i] = INFINITY;
        w->high[i] = -INFINITY;
    }
    w->h = 0.0;
    w->longest = longest;
    w->bound = 1e6 * size;
    w->tolerance = tolerance;
    w->steps = 0;
    w->cap = cap;
    look(w, x);
}

static void reduce(double *x) {
    for (int i = 0; i < N; i++)
        if (turns[i] != 0.0) x[i] -= turns[i] * floor(x[i] / turns[i]);
}

/* Modified Gram-Schmidt: the vectors become orthonormal, the logarithms of their heights are added to logs. */
ALWAYS void straighten(const int M, double *v, double *logs) {
    for (int a = 0; a < M; a++) {
        double *u = v + a * N, norm = 0.0;
        for (int b = 0; b < a; b++) {
            const double *e = v + b * N;
            double dot = 0.0;
            for (int i = 0; i < N; i++) dot += e[i] * u[i];
            for (int i = 0; i < N; i++) u[i] -= dot * e[i];
        }
        for (int i = 0; i < N; i++) norm += u[i] * u[i];
        norm = sqrt(norm);
        if (!(norm > 1e-150)) { /* the direction is lost: a superstable point; it starts anew on an axis */
            for (int i = 0; i < N; i++) u[i] = i == a ? 1.0 : 0.0;
            logs[a] += log(1e-150);
            for (int b = 0; b < a; b++) {
                const double *e = v + b * N;
                double dot = 0.0;
                for (int i = 0; i < N; i++) dot += e[i] * u[i];
                for (int i = 0; i < N; i++) u[i] -= dot * e[i];
            }
            norm = 0.0;
            for (int i = 0; i < N; i++) norm += u[i] * u[i];
            norm = sqrt(norm);
            if (!(norm > 1e-12)) norm = 1.0;
        } else {
            logs[a] += log(norm);
        }
        for (int i = 0; i < N; i++) u[i] /= norm;
    }
}

ALWAYS void rates(const int M, double t, const double *x, double *out, const double *q) {
    if (M < 0) {
        rate(t, x, q, out);
    } else {
        double j[VARYING];
        out[DIM(M) - 1] = linear(t, x, q, out, j);
        for (int m = 0; m < M; m++) spread(j, q, x + N + m * N, out + N + m * N);
    }
}

/* One step of length h from x, of which the first rate is known; the end is y. */
ALWAYS void step(const int M, double t, double h, const double *q, const double *x, double (*k)[DIM(M)], double *y) {
    EACH(y[i] = x[i] + h * (0.05260015195876773 * k[0][i]))
    rates(M, t + 0.05260015195876773 * h, y, k[1], q);
    EACH(y[i] = x[i] + h * (0.0197250569845379 * k[0][i] + 0.0591751709536137 * k[1][i]))
    rates(M, t + 0.0789002279381516 * h, y, k[2], q);
    EACH(y[i] = x[i] + h * (0.02958758547680685 * k[0][i] + 0.08876275643042054 * k[2][i]))
    rates(M, t + 0.1183503419072274 * h, y, k[3], q);
    EACH(y[i] = x[i] + h * (0.2413651341592667 * k[0][i] - 0.8845494793282861 * k[2][i] + 0.924834003261792 *
        k[3][i]))
    rates(M, t + 0.2816496580927726 * h, y, k[4], q);
    EACH(y[i] = x[i] + h * (0.037037037037037035 * k[0][i] + 0.17082860872947386 * k[3][i] + 0.12546768756682242 *
        k[4][i]))
    rates(M, t + 0.3333333333333333 * h, y, k[5], q);
    EACH(y[i] = x[i] + h * (0.037109375 * k[0][i] + 0.17025221101954405 * k[3][i] + 0.06021653898045596 * k[4][i]
        - 0.017578125 * k[5][i]))
    rates(M, t + 0.25 * h, y, k[6], q);
    EACH(y[i] = x[i] + h * (0.03709200011850479 * k[0][i] + 0.17038392571223998 * k[3][i] + 0.10726203044637328 *
        k[4][i] - 0.015319437748624402 * k[5][i] + 0.008273789163814023 * k[6][i]))
    rates(M, t + 0.3076923076923077 * h, y, k[7], q);
    EACH(y[i] = x[i] + h * (0.6241109587160757 * k[0][i] - 3.3608926294469414 * k[3][i] - 0.868219346841726 *
        k[4][i] + 27.59209969944671 * k[5][i] + 20.154067550477894 * k[6][i] - 43.48988418106996 * k[7][i]))
    rates(M, t + 0.6512820512820513 * h, y, k[8], q);
    EACH(y[i] = x[i] + h * (0.47766253643826434 * k[0][i] - 2.4881146199716677 * k[3][i] - 0.590290826836843 *
        k[4][i] + 21.230051448181193 * k[5][i] + 15.279233632882423 * k[6][i] - 33.28821096898486 * k[7][i] -
        0.020331201708508627 * k[8][i]))
    rates(M, t + 0.6 * h, y, k[9], q);
    EACH(y[i] = x[i] + h * (-0.9371424300859873 * k[0][i] + 5.186372428844064 * k[3][i] + 1.0914373489967295 *
        k[4][i] - 8.149787010746927 * k[5][i] - 18.52006565999696 * k[6][i] + 22.739487099350505 * k[7][i] +
        2.4936055526796523 * k[8][i] - 3.0467644718982196 * k[9][i]))
    rates(M, t + 0.8571428571428571 * h, y, k[10], q);
    EACH(y[i] = x[i] + h * (2.273310147516538 * k[0][i] - 10.53449546673725 * k[3][i] - 2.0008720582248625 *
        k[4][i] - 17.9589318631188 * k[5][i] + 27.94888452941996 * k[6][i] - 2.8589982771350235 * k[7][i] -
        8.87285693353063 * k[8][i] + 12.360567175794303 * k[9][i] + 0.6433927460157636 * k[10][i]))
    rates(M, t + h, y, k[11], q);
    EACH(y[i] = x[i] + h * (0.054293734116568765 * k[0][i] + 4.450312892752409 * k[5][i] + 1.8915178993145003 *
        k[6][i] - 5.801203960010585 * k[7][i] + 0.3111643669578199 * k[8][i] - 0.1521609496625161 * k[9][i] +
        0.20136540080403034 * k[10][i] + 0.04471061572777259 * k[11][i]))
}

APART void step_plain(double t, double h, const double *q, const double *x, double (*k)[N], double *y) {
    step(-1, t, h, q, x, k, y);
}

/* The error of a step in units of the tolerance: of the state, and of every tangent vector against its length. */
ALWAYS double error(const int M, double h, const Walk *w, const double *x, const double *y, double (*k)[DIM(M)]) {
    double worst = 0.0;
    for (int part = 0; part <= (M < 0 ? 0 : M); part++) {
        double five = 0.0, three = 0.0, length = 0.0;
        const int from = part * N;
        if (part)
            for (int i = from; i < from + N; i++) length = fmax(length, fmax(fabs(x[i]), fabs(y[i])));
        for (int i = from; i < from + N; i++) {
            double scale;
            if (part) {
                scale = 100.0 * length;
            } else if (turns[i] != 0.0) {
                scale = 0.5 * turns[i];
            } else {
                scale = fmax(fabs(x[i]), fabs(y[i])) + 1e-3 * w->size[i];
            }
            scale = w->tolerance * scale + 1e-200;
            double e3 = (-0.18980075407240762 * k[0][i] + 4.450312892752409 * k[5][i] + 1.8915178993145003 * k[6][i] -
                         5.801203960010585 * k[7][i] - 0.4226823213237919 * k[8][i] - 0.1521609496625161 * k[9][i] +
                         0.20136540080403034 * k[10][i] + 0.02265179219836082 * k[11][i]) / scale;
            double e5 = (0.01312004499419488 * k[0][i] - 1.2251564463762044 * k[5][i] - 0.4957589496572502 * k[6][i] +
                         1.6643771824549864 * k[7][i] - 0.35032884874997366 * k[8][i] + 0.3341791187130175 * k[9][i] +
                         0.08192320648511571 * k[10][i] - 0.022355307863886294 * k[11][i]) / scale;
            three += e3 * e3;
            five += e5 * e5;
        }
        double below = five + 0.01 * three;
        double here = below > 0.0 ? fabs(h) * five / sqrt(below * N) : below;
        if (here != here) return here;
        worst = fmax(worst, here);
    }
    return worst;
}

/* From t over span, or one accepted step where single; *passed is how far. */
ALWAYS int march(const int M, const double *q, double *x, double t, double span, int single, Walk *w, double *logs,
                 double *passed) {
    double k[12][DIM(M)], y[DIM(M)], done = 0.0;
    int rejected = 0, since = 0;
    rates(M, t, x, k[0], q);
    if (w->h <= 0.0) {
        double near = 0.0, fast = 0.0;
        for (int i = 0; i < N; i++) near = fmax(near, fabs(x[i])), fast = fmax(fast, fabs(k[0][i]));
        w->h = near > 1e-10 && fast > 1e-10 ? fmin(0.01 * near / fast, w->longest) : 1e-6 * w->longest;
    }
    *passed = 0.0;
    while (done < span) {
        double h = fmin(w->h, w->longest);
        int last = done + 1.001 * h >= span;
        if (last) h = span - done;
        if (w->steps >= w->cap) return UNFINISHED;
        w->steps++;
        step(M, t + done, h, q, x, k, y);
        double e = error(M, h, w, x, y, k);
        if (!(e <= 1.0)) {
            w->h = h * (e < INFINITY ? fmax(1.0 / 6.0, 0.9 * pow(e, -0.125)) : 0.1);
            rejected = 1;
            if (!(w->h > 1e-13 * (fabs(t + done) * 1e-2 + w->longest))) return FAILED;
            continue;
        }
        double grown = h * fmin(rejected ? 1.0 : 3.0, 0.9 * pow(e + 1e-30, -0.125));
        w->h = last && grown < w->h ? w->h : grown;
        rejected = 0;
        done = last ? span : done + h;
        *passed = done;
        EACH(x[i] = y[i])
        if (is_out(w, x)) return ESCAPED;
        look(w, x);
        if (single) return OK;
        if (M > 0 && (N <= 8 || ++since == 4 || last)) {
            straighten(M, x + N, logs);
            since = 0;
        }
        if (!last) rates(M, t + done, x, k[0], q);
    }
    return OK;
}

/* Three copies for the compiler: the state alone, all tangents of a small system, and any number of them. */
APART int march_plain(const double *q, double *x, double t, double span, int single, Walk *w, double *passed) {
    return march(-1, q, x, t, span, single, w, 0, passed);
}
#if N <= 4 && !MAP
APART int march_full(const double *q, double *x, double t, double span, Walk *w, double *logs, double *passed) {
    return march(N, q, x, t, span, 0, w, logs, passed);
}
#endif
APART int march_some(int m, const double *q, double *x, double t, double span, Walk *w, double *logs, double *passed) {
    return march(m, q, x, t, span, 0, w, logs, passed);
}

/* ln|det| of a matrix by elimination with pivots. */
static double log_det(double *a) {
    double sum = 0.0;
    for (int c = 0; c < N; c++) {
        int best = c;
        for (int r = c + 1; r < N; r++)
            if (fabs(a[r * N + c]) > fabs(a[best * N + c])) best = r;
        double pivot = a[best * N + c];
        sum += log(fmax(fabs(pivot), 1e-150));
        if (fabs(pivot) <= 1e-150) continue;
        for (int i = 0; i < N; i++) {
            double keep = a[c * N + i];
            a[c * N + i] = a[best * N + i];
            a[best * N + i] = keep;
        }
        for (int r = c + 1; r < N; r++) {
            double f = a[r * N + c] / pivot;
            for (int i = c; i < N; i++) a[r * N + i] -= f * a[c * N + i];
        }
    }
    return sum;
}

/* So many iterates of a map. */
ALWAYS int iterate(const int M, const double *q, double *x, double t, long count, Walk *w, double *logs, double *passed) {
    double y[DIM(M)], j[VARYING], matrix[N * N];
    *passed = 0.0;
    for (long n = 0; n < count; n++) {
        if (w->steps >= w->cap) return UNFINISHED;
        w->steps++;
        if (M < 0) {
            rate(t + n, x, q, y);
        } else {
            linear(t + n, x, q, y, j);
            for (int m = 0; m < M; m++) spread(j, q, x + N + m * N, y + N + m * N);
            dense(j, q, matrix);
            y[DIM(M) - 1] = x[DIM(M) - 1] + log_det(matrix);
        }
        EACH(x[i] = y[i])
        *passed = n + 1;
        for (int i = 0; i < N; i++)
            if (x[i] != x[i]) return FAILED;
        if (is_out(w, x)) return ESCAPED;
        reduce(x);
        look(w, x);
        if (M > 0) straighten(M, x + N, logs);
    }
    return OK;
}

static int travel(int m, const double *q, double *x, double t, double span, Walk *w, double *logs, double *passed) {
    int status;
#if MAP
    return iterate(m, q, x, t, (long)(span + 0.5), w, logs, passed);
#else
    if (m < 0) {
        status = march_plain(q, x, t, span, 0, w, passed);
#if N <= 4
    } else if (m == N) {
        status = march_full(q, x, t, span, w, logs, passed);
#endif
    } else {
        status = march_some(m, q, x, t, span, w, logs, passed);
    }
    reduce(x);
    return status;
#endif
}

int advance(const double *p, double *x, double t, double span, double tolerance, double longest, long cap, long *steps,
            double *passed) {
    double q[SETTLED];
    Walk w;
    settle(p, q);
    begin(&w, x, tolerance, longest, cap);
    int status = travel(-1, q, x, t, span, &w, 0, passed);
    *steps = w.steps;
    return status;
}

/* `count` intervals; growth has m numbers for each, states N. The integral of the trace is *divergence. */
int follow(const double *p, double *x, double t, double interval, long count, double tolerance, double longest, long cap,
           int m, double *growth, double *states, double *divergence, double *low, double *high, long *steps,
           long *finished, double *passed) {
    double q[SETTLED], all[DIM(N)], logs[N];
    Walk w;
    int status = OK;
    settle(p, q);
    begin(&w, x, tolerance, longest, cap);
    for (int i = 0; i < DIM(N); i++) all[i] = 0.0;
    for (int i = 0; i < N; i++) all[i] = x[i];
    for (int a = 0; a < m; a++) all[N + a * N + a] = 1.0;
    *finished = 0;
    *passed = 0.0;
    for (long n = 0; n < count && status == OK; n++) {
        double part, from = t + n * interval;
        for (int a = 0; a < m; a++) logs[a] = 0.0;
        status = travel(m, q, all, from, interval, &w, logs, &part);
        *passed = n * interval + part;
        if (status == OK) {
            for (int a = 0; a < m; a++) growth[n * m + a] = logs[a];
            for (int i = 0; i < N; i++) states[n * N + i] = all[i];
            *finished = n + 1;
        }
    }
    *divergence = all[N + m * N];
    *steps = w.steps;
    for (int i = 0; i < N; i++) x[i] = all[i], low[i] = w.low[i], high[i] = w.high[i];
    return status;
}

/* Upward passages of one variable through a level: the last step is taken again with the length that ends there. */
int section(const double *p, double *x, double t, double span, double tolerance, double longest, long cap, int variable,
            double level, long room, double *times, double *points, long *found, long *steps, double *passed) {
    double q[SETTLED], before[N], y[N], k[12][N], done = 0.0, part;
    Walk w;
    int status = OK;
    settle(p, q);
    begin(&w, x, tolerance, longest, cap);
    *found = 0;
    while (done < span && status == OK && *found < room) {
        for (int i = 0; i < N; i++) before[i] = x[i];
        status = march_plain(q, x, t + done, span - done, 1, &w, &part);
        if (before[variable] < level && x[variable] >= level) {
            double left = 0.0, right = part, h = part, low = before[variable] - level, high = x[variable] - level;
            rate(t + done, before, q, k[0]);
            for (int i = 0; i < N; i++) y[i] = x[i];
            for (int n = 0; n < 60 && right - left > 1e-15 * part && high != 0.0; n++) { /* Illinois */
                h = right - (right - left) * high / (high - low);
                if (!(h > left && h < right)) h = 0.5 * (left + right);
                step_plain(t + done, h, q, before, k, y);
                double here = y[variable] - level;
                if (fabs(here) <= 1e-14 * (fabs(level) + w.size[variable])) break;
                if (here > 0.0) {
                    right = h, high = here, low *= n % 2 ? 0.5 : 1.0;
                } else {
                    left = h, low = here, high *= n % 2 ? 0.5 : 1.0;
                }
            }
            times[*found] = t + done + h;
            for (int i = 0; i < N; i++) points[*found * N + i] = y[i];
            *found += 1;
        }
        done += part;
    }
    *steps = w.steps;
    *passed = done;
    return status;
}

/* For tests: the rate and the whole Jacobian at one point. */
void probe(const double *p, double t, const double *x, double *out, double *matrix) {
    double q[SETTLED], j[VARYING];
    settle(p, q);
    linear(t, x, q, out, j);
    dense(j, q, matrix);
}
