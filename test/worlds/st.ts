import { play } from '/work/wt/world/test/worlds/counting/history.ts';
console.log((await play(Number(process.argv[2]), {isTold:true, damages: false})).story)
