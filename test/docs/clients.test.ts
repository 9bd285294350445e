import { execFile } from 'node:child_process';
import { copyFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { ScriptedService } from '../cli/scripted-service.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { isHere } from './is-here.ts';
import { ROOT } from './markdown.ts';

/** The events that each client sends: the second one is wrong. */
const EVENTS = JSON.stringify([
  cloudEvent({ data: { event_id: 'f-0' } }),
  { ...cloudEvent(), data: {} },
  cloudEvent({ data: { event_id: 'f-2' } }),
]);

/** A pause too short to slow the tests, in seconds. */
const PAUSE = '0.05';

interface Client {
  /** In `infra/clients`. */
  readonly file: string;
  readonly needs: string;
  /** A file that calls it: it gets the service and a file with the events, and prints the answer. */
  readonly caller: readonly [name: string, text: string];
  readonly compile?: (directory: string) => Promise<void>;
  readonly command: readonly [string, ...string[]];
}

const run = promisify(execFile);

/** The namespaces that every file of a new .NET project uses. */
const IMPLICIT_USINGS = ['', '.Collections.Generic', '.IO', '.Linq', '.Net.Http', '.Threading', '.Threading.Tasks'];

/** The newest of what `dotnet --list-…` prints: its version and its directory. */
const newestOf = async (list: string, name: string): Promise<readonly [version: string, directory: string]> => {
  const { stdout } = await run('dotnet', [list]);
  const last = stdout.split('\n').findLast((line) => line !== '' && line.startsWith(name));
  const [, version, directory] = /([\d.]+\S*) \[(.*)\]/.exec(last ?? '') ?? [];
  if (version === undefined || directory === undefined) throw new Error(`dotnet ${list}: ${stdout}`);
  return [version, join(directory, version)];
};

/** Compiles as a new project of the .NET SDK does, warnings are errors. The compiler alone takes a sixth of the time of `dotnet build`. */
const compileCsharp = async (cwd: string): Promise<void> => {
  const [, sdk] = await newestOf('--list-sdks', '');
  const [version, runtime] = await newestOf('--list-runtimes', 'Microsoft.NETCore.App ');
  const assemblies = (await readdir(runtime)).filter((name) => /^System\.(?!.*Native\.dll).*\.dll$/.test(name));
  const framework = { name: 'Microsoft.NETCore.App', version };
  await writeFile(join(cwd, 'client.runtimeconfig.json'), JSON.stringify({ runtimeOptions: { framework } }));
  const usings = IMPLICIT_USINGS.map((name) => `global using global::System${name};`);
  await writeFile(join(cwd, 'usings.cs'), usings.join('\n'));
  const options = ['-noconfig', '-nologo', '-nullable:enable', '-warnaserror', '-out:client.dll'];
  const lines = [
    ...options,
    ...assemblies.map((name) => `"-r:${join(runtime, name)}"`),
    'client.cs',
    'CameraEvents.cs',
    'usings.cs',
  ];
  await writeFile(join(cwd, 'compile.rsp'), lines.join('\n'));
  await run('dotnet', ['exec', join(sdk, 'Roslyn', 'bincore', 'csc.dll'), '@compile.rsp'], { cwd });
};

const CLIENTS: readonly Client[] = [
  {
    file: 'send.py',
    needs: 'python3',
    caller: [
      'client.py',
      `import json, sys\nfrom send import send\nprint(json.dumps(send(json.load(open("events.json")), sys.argv[1], "k", ${PAUSE})))`,
    ],
    command: ['python3', 'client.py'],
  },
  {
    file: 'send.mjs',
    needs: process.execPath,
    caller: [
      'client.mjs',
      `import { readFileSync } from 'node:fs';\nimport { send } from './send.mjs';
console.log(JSON.stringify(await send(JSON.parse(readFileSync('events.json')), process.argv[2], 'k', ${PAUSE})));`,
    ],
    command: [process.execPath, 'client.mjs'],
  },
  {
    file: 'CameraEvents.cs',
    needs: 'dotnet',
    caller: [
      'client.cs',
      `using var http = new HttpClient { BaseAddress = new Uri(args[0]) };
http.DefaultRequestHeaders.Add("x-functions-key", "k");
Console.WriteLine(await CameraEvents.Send(http, File.ReadAllText("events.json"), ${PAUSE}));`,
    ],
    compile: compileCsharp,
    command: ['dotnet', 'client.dll'],
  },
];

describe('the client to copy', () => {
  it.for(CLIENTS)(
    '$file goes on through a lost connection, a 503 and half an answer, and gets the answer about a wrong event',
    async ({ file, needs, caller: [name, text], compile, command: [program, ...args] }, { skip }) => {
      if (!isHere(needs)) skip(`${needs} is not on this machine`);
      const service = await ScriptedService.start(({ number, headers }) => {
        if (number === 1) return 'reset';
        if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
        if (number === 3) return 'torn';
        return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
      });
      const directory = ownDirectory();
      await copyFile(join(ROOT, 'infra/clients', file), join(directory, file));
      await writeFile(join(directory, name), text);
      await writeFile(join(directory, 'events.json'), EVENTS);
      await compile?.(directory);
      const { stdout } = await run(program, [...args, service.url], { cwd: directory });
      expect(JSON.parse(stdout)).toMatchObject({ recorded: 2, unchanged: 0, errors: [{ index: 1 }, { index: 1 }] });
      expect([...service.times]).toMatchObject([
        ['f-0', 1],
        [expect.anything(), 1],
        ['f-2', 1],
      ]);
      expect(service.requests).toBe(4);

      // Over 5 MiB the Functions host answers nothing that a client could understand.
      await writeFile(
        join(directory, 'events.json'),
        JSON.stringify([cloudEvent({ note: 'x'.repeat(MAX_EVENTS_BYTES) })]),
      );
      const tooLarge = run(program, [...args, service.url], { cwd: directory });
      await expect(tooLarge).rejects.toThrow('more than 4 MiB: send the halves');
      expect(service.requests).toBe(4);
    },
  );
});
