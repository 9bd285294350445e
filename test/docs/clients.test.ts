import { execFile, execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, it } from 'vitest';

import { ownDirectory } from '../harness/own-directory.ts';
import { cloudEvent } from '../http/cloud-event.ts';
import { ScriptedService } from '../cli/send/scripted-service.ts';
import { MAX_EVENTS_BYTES } from '../../src/http/event-batch.ts';
import { readText } from './markdown.ts';

/** The code of a language on the integrators' page. */
const codeIn = (language: string): string => {
  const [, code] = new RegExp(`\`\`\`${language}\n([^]*?)\n\`\`\``).exec(readText('src/http/README.md')) ?? [];
  if (code === undefined) throw new Error(`src/http/README.md has no ${language}`);
  return code;
};

const isHere = (program: string): boolean => {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
};

/** The events that each client sends: the second one is wrong. */
const EVENTS = JSON.stringify([
  cloudEvent({ data: { event_id: 'f-0' } }),
  { ...cloudEvent(), data: {} },
  cloudEvent({ data: { event_id: 'f-2' } }),
]);

/** A pause that nobody waits for, in seconds. */
const PAUSE = '0.05';

interface Client {
  readonly language: string;
  readonly needs: string;
  /** Where the code goes, with a line that calls it: it gets the service and a file with the events, and prints the answer. */
  readonly files: (code: string) => Readonly<Record<string, string>>;
  readonly command: readonly [string, ...string[]];
}

const PROJECT = `<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><OutputType>Exe</OutputType>
  <TargetFramework>net$(BundledNETCoreAppTargetFrameworkVersion)</TargetFramework>
  <ImplicitUsings>enable</ImplicitUsings><Nullable>enable</Nullable></PropertyGroup></Project>`;

const CLIENTS: readonly Client[] = [
  {
    language: 'python',
    needs: 'python3',
    files: (code) => ({
      'client.py': `${code}\nimport sys\nprint(json.dumps(send(json.load(open("events.json")), sys.argv[1], "k", ${PAUSE})))`,
    }),
    command: ['python3', 'client.py'],
  },
  {
    language: 'js',
    needs: process.execPath,
    files: (code) => ({
      'client.mjs': `import { readFileSync } from 'node:fs';\n${code}\nconst events = JSON.parse(readFileSync('events.json'));
console.log(JSON.stringify(await send(events, process.argv[2], 'k', ${PAUSE})));`,
    }),
    command: [process.execPath, 'client.mjs'],
  },
  {
    language: 'csharp',
    needs: 'dotnet',
    files: (code) => ({
      'client.csproj': PROJECT,
      'client.cs': `using var http = new HttpClient { BaseAddress = new Uri(args[0]) };
http.DefaultRequestHeaders.Add("x-functions-key", "k");
Console.WriteLine(await Send(http, File.ReadAllText("events.json"), ${PAUSE}));\n${code}`,
    }),
    command: ['dotnet', 'run', '--project', 'client.csproj', '--'],
  },
];

describe('the client on the page for integrators', () => {
  it.for(CLIENTS)(
    '$language goes on through a lost connection, a 503 and half an answer, and gets the answer about a wrong event',
    async ({ language, needs, files, command: [program, ...args] }, { skip }) => {
      if (!isHere(needs)) skip(`${needs} is not on this machine`);
      const service = await ScriptedService.start(({ number, headers }) => {
        if (number === 1) return 'reset';
        if (number === 2) return { status: 503, headers: { 'retry-after': '0' }, body: '{}' };
        if (number === 3) return 'torn';
        return headers['x-functions-key'] === 'k' ? 'record' : { status: 401 };
      });
      const directory = ownDirectory();
      const written = { ...files(codeIn(language)), 'events.json': EVENTS };
      for (const [name, text] of Object.entries(written)) await writeFile(join(directory, name), text);
      const { stdout } = await promisify(execFile)(program, [...args, service.url], {
        cwd: directory,
        // A first run of dotnet greets on stdout.
        env: { ...process.env, DOTNET_NOLOGO: '1' },
      });
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
      const tooLarge = promisify(execFile)(program, [...args, service.url], { cwd: directory });
      await expect(tooLarge).rejects.toThrow('more than 4 MiB: send the halves');
      expect(service.requests).toBe(4);
    },
  );
});
