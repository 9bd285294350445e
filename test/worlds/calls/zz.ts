import { MODES } from './modes.ts';
import { playSeed } from './play-seed.ts';
const [a, b] = [Number(process.argv[2]), Number(process.argv[3])];
for (let seed = a; seed < b; seed += 1) for (const mode of MODES) {
  try {
    const { broken } = await playSeed(seed, mode);
    const rest = broken.filter((l) => !/called again before/.test(l) && !(mode.name.includes('cannot be read') && /were published/.test(l)));
    for (const l of rest) console.log(`${mode.name} #${seed}: ${l.slice(0, 300)}`);
  } catch (e) { console.log(`${mode.name} #${seed}: ERROR ${String(e)}`); }
}
console.log('done', a, b);
