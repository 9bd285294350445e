import type { CoreInvocationContext, FunctionCallback, InvocationModel, TriggerInput } from './functions-core.ts';
import type { RegisteredFunction, Registry } from './registry.ts';

/**
 * Runs one function as the worker does: the library makes the arguments, then the hooks and the handler in their
 * order, then the library makes the message of the result.
 *
 * @returns what the handler returned, with what the hooks made of it
 * @throws whatever the handler or a hook threw, or the library for a result that is not a response
 */
export const invoke = async (
  registry: Registry,
  { metadata, callback }: RegisteredFunction,
  { metadata: triggerMetadata = {}, ...input }: TriggerInput,
  invocationId: string,
): Promise<unknown> => {
  let invocationContext: unknown;
  const core: CoreInvocationContext = {
    invocationId,
    metadata,
    request: { invocationId, inputData: [input], triggerMetadata },
    state: undefined,
    log: (level, category, message) => registry.log(level, category, message, invocationContext),
  };

  const model = registry.programmingModel.getInvocationModel(core);
  const { context, inputs } = await model.getArguments();
  invocationContext = context;

  const before = { hookData: {}, invocationContext, inputs, functionCallback: callback };
  await inState(core, 'preInvocationHooks', async () => registry.runHooks('preInvocation', before));

  const after = {
    hookData: before.hookData,
    invocationContext,
    inputs: before.inputs,
    ...(await inState(core, 'invocation', async () => outcome(model, context, before))),
  };
  await inState(core, 'postInvocationHooks', async () => registry.runHooks('postInvocation', after));

  // To the worker null and undefined are no errors, even thrown ones.
  if (after.error !== null && after.error !== undefined) throw after.error;
  await model.getResponse(context, after.result);
  return after.result;
};

const outcome = async (
  model: InvocationModel,
  context: unknown,
  { inputs, functionCallback }: { readonly inputs: unknown[]; readonly functionCallback: FunctionCallback },
): Promise<{ result: unknown; error: unknown }> => {
  try {
    return { result: await model.invokeFunction(context, inputs, functionCallback), error: null };
  } catch (error) {
    return { result: null, error };
  }
};

const inState = async <Result>(
  core: CoreInvocationContext,
  state: CoreInvocationContext['state'],
  run: () => Promise<Result>,
): Promise<Result> => {
  core.state = state;
  try {
    return await run();
  } finally {
    core.state = undefined;
  }
};
