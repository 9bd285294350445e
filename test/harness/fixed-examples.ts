import { configureGlobal } from 'fast-check';

// Properties get the same examples in every run. Otherwise a rare failing example would stop a developer who tests another change.
// `FC_SEED=7 npm test` tries other examples.
configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 1) });
