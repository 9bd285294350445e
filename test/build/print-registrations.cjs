/**
 * `node print-registrations.cjs BUNDLE`: loads a bundle as the Functions worker does, with as little as that takes,
 * and prints what it registered: JSON, one array. It shares nothing with the local functions host on purpose.
 */
const Module = require('node:module');

const functions = [];
const hooks = [];
const core = {
  version: '3.0.0',
  hostVersion: '4.0.0',
  setProgrammingModel: () => undefined,
  registerFunction: (metadata) => {
    functions.push(metadata);
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

console.info = console.warn = () => undefined;
require(process.argv[2]);
console.log(JSON.stringify({ functions, hooks }));
