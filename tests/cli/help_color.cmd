0 help fields --color=always
