// What the parts of the page share.

export const state = {
  model: "",
  conversations: [], // newest first
  current: null, // the one that is shown
  running: null, // {controller, conversation, message}: the answer that comes
  elsewhere: new Set(), // ids of conversations whose answers come in another tab
};
