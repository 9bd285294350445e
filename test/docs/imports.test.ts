import { join, matchesGlob, relative } from 'node:path/posix';

import { expect, it } from 'vitest';
import { z } from 'zod';

import { codeBlocksOf, readText } from './markdown.ts';

const restriction = z.tuple([z.literal('error'), z.object({ patterns: z.array(z.object({ regex: z.string() })) })]);
const { overrides } = z
  .object({
    overrides: z.array(
      z.object({
        files: z.array(z.string()),
        rules: z.looseObject({ 'no-restricted-imports': z.union([restriction, z.literal('off')]).optional() }),
      }),
    ),
  })
  .parse(JSON.parse(readText('.oxlintrc.json').replaceAll(/^\s*\/\/.*$/gm, '')));

/** Whether the lint rules let a file import another: the last override that matches a file replaces the others. */
const mayImport = (from: string, to: string): boolean => {
  const rule = overrides
    .flatMap(({ files, rules: { 'no-restricted-imports': imports } }) =>
      imports !== undefined && files.some((pattern) => matchesGlob(from, pattern)) ? [imports] : [],
    )
    .at(-1);
  if (rule === undefined || rule === 'off') return true;
  const path = relative(join(from, '..'), to);
  const specifier = path.startsWith('.') ? path : `./${path}`;
  return !rule[1].patterns.some(({ regex }) => new RegExp(regex).test(specifier));
};

/** The parts of the picture: the folder, and its arrows from room to room. */
const parts = codeBlocksOf('CONTRIBUTING.md', 'mermaid').flatMap((block) =>
  [...block.matchAll(/subgraph (\S+)\n([^]*?)\n {2}end/g)].map(([, folder = '', lines = '']) => {
    const labels = new Map([...lines.matchAll(/(\w+)\["([^"]+)"\]/g)].map(([, id = '', label = '']) => [id, label]));
    const chains = lines.split('\n').map((line) =>
      line.split(' --> ').map((rooms) =>
        rooms.split(' & ').map((room) => {
          const id = room.trim().replace(/\[.*/, '');
          return labels.get(id) ?? id;
        }),
      ),
    );
    const arrows = chains.flatMap((chain) =>
      chain.slice(1).flatMap((targets, index) => (chain[index] ?? []).map((room) => ({ room, targets }))),
    );
    return { folder, rooms: [...new Set(chains.flat(2))], arrows };
  }),
);

it.each(parts)('the picture of $folder in CONTRIBUTING.md shows the imports that the lint rules allow', (part) => {
  const reach = (room: string): readonly string[] =>
    part.arrows.flatMap((arrow) => (arrow.room === room ? arrow.targets.flatMap((to) => [to, ...reach(to)]) : []));
  const fileOf = (room: string): string => `${part.folder}/${room.endsWith('.ts') ? room : `${room}/file.ts`}`;
  const shown = part.rooms.map((room) => [room, [...new Set(reach(room))].toSorted()]);
  const allowed = part.rooms.map((room) => [
    room,
    part.rooms.filter((to) => to !== room && mayImport(fileOf(room), fileOf(to))).toSorted(),
  ]);
  expect(shown).toEqual(allowed);
});
