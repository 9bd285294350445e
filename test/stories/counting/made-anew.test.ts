import { setTimeout } from 'node:timers/promises';

import { TableClient } from '@azure/data-tables';
import { expect, inject, it } from 'vitest';

import { ownTablesPrefix } from '../../harness/app.ts';
import { ownDirectory } from '../../harness/own-directory.ts';
import { startWatch } from '../../harness/watch.ts';
import { readText } from '../../docs/markdown.ts';
import { run } from '../../cli/send/running.ts';

/** The clocks of the app run so much faster than others. */
const FASTER = 60;

/** What makes them: both that tell how long ago the app has read something. */
const FAST_CLOCKS = `
  const [wall, steady, start] = [Date.now, performance.now.bind(performance), Date.now()];
  Date.now = () => start + (wall() - start) * ${FASTER};
  performance.now = () => steady() * ${FASTER};
`;

const DATE = '2026-11-20';
const START = BigInt(Date.parse(DATE)) * 1_000n;
const MESSAGES = Array.from({ length: 300 }, (_, index) => {
  const ts = START + BigInt(index) * 200_000_000n;
  return { eventId: `f-${index}`, cameraId: `ridge-${index % 7}`, ts, time: ts, detections: { smoke: 1 } };
});

/** The commands by which the page says to fill a table anew. */
const commands = (): readonly string[] => {
  const [, section = ''] = readText('infra/cli/send/README.md').split('To fill a table **anew** while the app runs');
  const [, text = ''] = section.split('```sh\n');
  return text.slice(0, text.indexOf('```')).trim().split('\n');
};

it('a table is filled anew while the app runs by the commands of the page, as they are written: every event is back', async () => {
  const environment = { TABLES_CONNECTION_STRING: inject('tablesConnectionString'), TABLES_PREFIX: ownTablesPrefix() };
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(FAST_CLOCKS)}`;
  const { app, record, day } = await startWatch({ ...environment, NODE_OPTIONS }).then((watch) => ({
    app: watch.app,
    record: watch.record.bind(watch),
    day: watch.day.bind(watch),
  }));
  await record(MESSAGES);
  const before = await day(DATE);
  expect(before.total_events).toBe(300);

  const cwd = ownDirectory();
  const [done, ended]: [string[], (number | null)[]] = [[], []];
  for (const command of commands()) {
    const [program = '', ...words] = command.replace('http://localhost:7072', app.url).split(/\s+/);
    done.push(program);
    if (program === 'sleep') {
      await setTimeout((Number(words[0]) * 1_000) / FASTER);
    } else if (program === 'az') {
      const table = `${environment.TABLES_PREFIX}${words[words.indexOf('--name') + 1]}`;
      await TableClient.fromConnectionString(environment.TABLES_CONNECTION_STRING, table, {
        allowInsecureConnection: true,
      }).deleteTable();
    } else {
      const name = words[1] === 'export' ? 'export' : 'send';
      ended.push((await run(name, words.slice(3), { cwd, environment })).code);
    }
  }
  expect([done, ended]).toEqual([
    ['npm', 'az', 'sleep', 'npm'],
    [0, 0],
  ]);
  expect(await day(DATE)).toEqual(before);
});
