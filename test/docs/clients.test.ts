import { execFile, spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { copyFile, writeFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { ScriptedService } from '../cli/scripted-service.ts';
import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { ROOT } from './markdown.ts';

/** The events that each client sends: the second event is wrong. */
const EVENTS = [
  cloudEvent({ data: { event_id: 'f-0' } }),
  { ...cloudEvent(), data: {} },
  cloudEvent({ data: { event_id: 'f-2' } }),
];

/** The functions to copy, each with a program that calls it with the service's address, and prints the answer. The pause is 0.05 s. */
const CLIENTS = [
  {
    file: 'send.py',
    program: 'python3',
    caller: `import json, sys
from send import send
print(json.dumps(send(json.load(open("events.json")), sys.argv[1], "k", 0.05)))`,
  },
  {
    file: 'send.mjs',
    program: process.execPath,
    caller: `import { readFileSync } from 'node:fs';
import { send } from './send.mjs';
console.log(JSON.stringify(await send(JSON.parse(readFileSync('events.json')), process.argv[2], 'k', 0.05)));`,
  },
  {
    file: 'CameraEvents.cs',
    program: 'dotnet',
    caller: `using System;
using System.IO;
using System.Net.Http;
using var http = new HttpClient { BaseAddress = new Uri(args[0]) };
http.DefaultRequestHeaders.Add("x-functions-key", "k");
Console.WriteLine(await CameraEvents.Send(http, File.ReadAllText("events.json"), 0.05));`,
  },
];

const run = promisify(execFile);

/** Compiles all C# files of a directory, warnings are errors. The compiler alone takes a sixth of the time of `dotnet build`. */
const compileCsharp = async (cwd: string): Promise<void> => {
  const [, version = '', sdks = ''] = /(\S+) \[(.*)\]\s*$/.exec((await run('dotnet', ['--list-sdks'])).stdout) ?? [];
  const sdk = join(sdks, version);
  const [pack = ''] = globSync(join(sdks, `../packs/Microsoft.NETCore.App.Ref/${parseInt(version)}.*/ref/*`));
  const references = globSync(join(pack, '*.dll')).map((path) => `-r:${path}`);
  const options = ['-noconfig', '-nologo', '-nullable:enable', '-warnaserror', '-out:client.dll', ...references];
  await run('dotnet', ['exec', join(sdk, 'Roslyn/bincore/csc.dll'), ...options, '*.cs'], { cwd });
  await copyFile(join(sdk, 'dotnet.runtimeconfig.json'), join(cwd, 'client.runtimeconfig.json'));
};

it.for(CLIENTS)(
  '$file continues through a lost connection, a 503 and half an answer, and gets the answer about a wrong event',
  async ({ file, program, caller }, { skip }) => {
    if (spawnSync(program, ['--version']).error !== undefined) skip(`${program} is not on this machine`);
    const service = await ScriptedService.start(({ number, headers }) => {
      if (number === 1) return 'reset';
      if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
      if (number === 3) return 'torn';
      return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
    });
    const cwd = ownDirectory();
    await copyFile(join(ROOT, 'infra/clients', file), join(cwd, file));
    await writeFile(join(cwd, `client${extname(file)}`), caller);
    if (program === 'dotnet') await compileCsharp(cwd);
    const compiled = program === 'dotnet' ? 'client.dll' : `client${extname(file)}`;
    const send = async (events: readonly object[]): Promise<string> => {
      await writeFile(join(cwd, 'events.json'), JSON.stringify(events));
      return (await run(program, [compiled, service.url], { cwd })).stdout;
    };
    const answer: unknown = JSON.parse(await send(EVENTS));
    expect(answer).toMatchObject({ recorded: 2, unchanged: 0, errors: [{ index: 1 }, { index: 1 }] });
    expect([...service.times]).toEqual([
      ['f-0', 1],
      [expect.anything(), 1],
      ['f-2', 1],
    ]);
    expect(service.requests).toBe(4);

    // Over 5 MiB the Functions host answers nothing that a client could understand.
    const tooLarge = send([cloudEvent({ note: 'x'.repeat(MAX_EVENTS_BYTES) })]);
    await expect(tooLarge).rejects.toThrow('more than 4 MiB: send the halves');
    expect(service.requests).toBe(4);
  },
);
