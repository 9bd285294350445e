/**
 * `node load-bundle.cjs BUNDLE`: loads a bundle as the Functions worker does, with as little as that takes, and prints one line
 * of JSON: what it registered, and the description of the API that its function OpenApi answers. It shares nothing with the local
 * functions host on purpose.
 */
const Module = require('node:module');
const { HttpRequest, InvocationContext } = require('@azure/functions');

const functions = [];
const handlers = new Map();
const hooks = [];
const core = {
  version: '3.0.0',
  hostVersion: '4.0.0',
  setProgrammingModel: () => undefined,
  registerFunction: (metadata, handler) => {
    functions.push(metadata);
    handlers.set(metadata.name, handler);
    return { dispose: () => undefined };
  },
  registerHook: (name) => {
    hooks.push(name);
    return { dispose: () => undefined };
  },
  log: () => undefined,
};

/* oxlint-disable no-underscore-dangle -- Node's own name */
const load = Module._load;
Module._load = function (request, ...rest) {
  return request === '@azure/functions-core' ? core : load.call(this, request, ...rest);
};
/* oxlint-enable no-underscore-dangle */

const describe = async () => {
  const request = new HttpRequest({ method: 'GET', url: 'http://localhost/api/openapi.json' });
  const { body } = await handlers.get('OpenApi')(request, new InvocationContext({ functionName: 'OpenApi' }));
  return JSON.parse(body);
};

console.info = console.warn = () => undefined;
require(process.argv[2]);
void describe().then((description) => console.log(JSON.stringify({ functions, hooks, description })));
