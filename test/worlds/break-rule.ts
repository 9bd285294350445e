import { registerHooks } from 'node:module';

/** A text of a source file below `src/analytics` or `src/calls`, which is there once, and what breaks the rule. */
export type Change = readonly [file: string, text: string, broken: string];

/** `node --import <this file>` loads the source with the changes that this variable names as JSON. */
export const CHANGES = 'BROKEN_RULE';

// oxlint-disable-next-line no-unsafe-type-assertion -- it is what broken-rules.soak.ts sets
const changes = JSON.parse(process.env[CHANGES] ?? '[]') as readonly Change[];

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context);
    const own = changes.filter(([file]) => ['analytics', 'calls'].some((area) => url.endsWith(`/src/${area}/${file}`)));
    if (own.length === 0) return loaded;
    let source = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
    for (const [file, text, broken] of own) {
      const parts = source.split(text);
      if (parts.length !== 2) throw new Error(`${file} has not once: ${text}`);
      source = parts.join(broken);
    }
    return { ...loaded, source };
  },
});
